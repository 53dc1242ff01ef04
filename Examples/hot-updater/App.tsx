// What an app says to update from castree: the address, and by what it is matched. All else is hot-updater's.
import { HotUpdater } from "@hot-updater/react-native";
import { Text } from "react-native";

function App() {
  return <Text>Release {HotUpdater.getBundleId()}</Text>;
}

export default HotUpdater.wrap({
  // The base URL of the origin (castree origin enable --base-url), and where hot-updater's part is.
  baseURL: "https://u.example.org/for/hot-updater",
  // The app's own version is compared with --require appVersionRange=… of a release.
  updateStrategy: "appVersion",
  updateMode: "auto",
})(App);
