"""What people fetch files with: each gets bytes identical to the source."""

import filecmp
import gzip
import os
import random
import shutil
import socket
import struct
import subprocess
import time
import urllib.parse

from place import Relay, demand

FILM = 24 << 20


def checks(suite):
    suite.check(
        "seek", "Chromium seeks in a recording by ranges, and has the right sound at each place.", seek)
    suite.check("curl", "curl gets every file identical, also in ranges and compressed variants.", curl)
    suite.check("wget", "wget -c goes on with an interrupted download; the result is identical.", wget)
    suite.check("aria2", "aria2c -x8 assembles a file from eight connections; it is identical.", aria2)
    suite.check("nginx", "An unmodified nginx pointed at STORE/current/ serves the same bytes.", nginx)


def recording(seconds=120, rate=8000):
    """A WAV whose level says the second: its samples are all equal within one."""
    frames = b"".join(
        struct.pack("<h", 200 * (second + 1)) * rate for second in range(seconds))
    return (b"RIFF" + struct.pack("<I", 36 + len(frames)) + b"WAVEfmt "
            + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16)
            + b"data" + struct.pack("<I", len(frames)) + frames)


SEEK_PAGE = """<!doctype html><audio id="sound" preload="metadata" src="/recording.wav"></audio><script>
const sound = document.getElementById('sound');
const context = new AudioContext();
const meter = context.createAnalyser();
meter.fftSize = 2048;
context.createMediaElementSource(sound).connect(meter);
meter.connect(context.destination);
const when = name => new Promise((done, fail) => {
  sound.addEventListener(name, done, { once: true });
  sound.addEventListener('error', () => fail(new Error(sound.error.message)), { once: true });
});
const ready = sound.readyState >= 1 ? Promise.resolve() : when('loadedmetadata');
// The level heard in the middle of a second, as the number of that second.
const second = async at => {
  const seeked = when('seeked');
  sound.currentTime = at + 0.2;
  await seeked;
  await context.resume();
  await sound.play();
  const samples = new Float32Array(meter.fftSize);
  const heard = [];
  for (let tries = 0; tries < 12; tries++) {
    await new Promise(done => setTimeout(done, 40));
    meter.getFloatTimeDomainData(samples);
    heard.push(Math.round(samples[samples.length - 1] * 32768 / 200) - 1);
  }
  sound.pause();
  return heard;
};
</script>"""


def seek(suite):
    store = suite.store()
    store.add("v1", {"index.html": SEEK_PAGE, "recording.wav": recording()}, activate=True)
    with store.serve() as server, suite.browser() as browser:
        tab = browser.tab()
        tab.go(server.url)
        tab.run("ready.then(() => true)")
        length = tab.run("sound.duration")
        demand(abs(length - 120) < 0.1, f"the recording is {length} s long")
        for place in (100, 3, 60, 117, 31):
            heard = tab.run(f"second({place})")
            demand(
                place in heard and all(abs(each - place) <= 1 or each in (-1, 0) for each in heard[4:]),
                f"at second {place} Chromium plays what stands at {heard}")
        ranges = [
            each["response"] for each in tab.responses
            if each["response"]["url"].endswith(".wav") and each["response"]["status"] == 206]
        suite.say(f"{len(ranges)} answers of 206 for five seeks")
        demand(ranges, "Chromium was given no range")
        film(suite, tab, server, store)


def film(suite, tab, server, store):
    """The same with a picture, where ffmpeg is there to make one."""
    if not shutil.which("ffmpeg"):
        suite.say("there is no ffmpeg to make a WebM film; the recording has to do")
        return
    path = suite.directory / "film.webm"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
         "color=black:size=64x64:rate=10:duration=60,"
         "geq=lum='16+4*floor(T)*0.9':cb=128:cr=128", "-c:v", "libvpx", "-g", "10", "-b:v", "300k",
         str(path)], check=True, stdin=subprocess.DEVNULL, timeout=120)
    page = """<!doctype html><video id="film" preload="metadata" src="/film.webm" muted></video><script>
    const film = document.getElementById('film');
    const ready = new Promise((done, fail) => {
      film.onloadedmetadata = () => done(film.duration);
      film.onerror = () => fail(new Error(film.error.message));
    });
    const level = at => new Promise(done => {
      film.onseeked = () => {
        const canvas = document.createElement('canvas');
        canvas.width = canvas.height = 64;
        const pen = canvas.getContext('2d');
        pen.drawImage(film, 0, 0);
        done(pen.getImageData(32, 32, 1, 1).data[0]);
      };
      film.currentTime = at + 0.5;
    });</script>"""
    store.add("v2", {"index.html": page, "film.webm": path.read_bytes()}, activate=True)
    tab.go(server.url)
    demand(abs(tab.run("ready") - 60) < 1, "the film has the wrong length")
    levels = {place: tab.run(f"level({place})") for place in (50, 5, 30, 55, 12, 42)}
    suite.say(f"a film's grey level at its seconds: {levels}")
    order = [levels[place] for place in sorted(levels)]
    demand(
        all(late - early > 10 for early, late in zip(order, order[1:])),
        f"the film's frames are not those of the places: {levels}")


def files():
    """Sizes around every boundary the server has, names that need encoding, compressed variants."""
    chance = random.Random(7)
    made = {f"size/{size}": chance.randbytes(size) for size in (
        0, 1, 2, 1023, 1024, 32767, 32768, 32769, 65536, 100_003, 1 << 20, (1 << 20) + 1, 5_000_001)}
    made["index.html"] = "<p>tools</p>" * 50
    made["name with spaces & ümläut.txt"] = "odd"
    made["text.txt"] = b"some text, again and again\n" * 500
    made["text.txt.gz"] = gzip.compress(made["text.txt"])
    made["deep/er/and/deeper/100%.txt"] = "percent"
    return made


def quoted(path):
    return urllib.parse.quote(path)


def curl(suite):
    store = suite.store()
    made = files()
    source = store.add("v1", made, activate=True)
    with store.serve() as server:
        target = suite.directory / "got"
        for path in made:
            subprocess.run(
                ["curl", "-sSf", "-o", target, server.url + quoted(path)], check=True, timeout=60)
            demand(filecmp.cmp(source / path, target, shallow=False), f"{path} is not the same")
        whole = (source / "size/5000001").read_bytes()
        for wanted, part in (
                ("0-0", whole[:1]), ("100-199", whole[100:200]), ("-1000", whole[-1000:]),
                ("4999999-", whole[4999999:]), ("1048570-2097160", whole[1048570:2097161])):
            got = subprocess.run(
                ["curl", "-sSf", "-r", wanted, server.url + "size/5000001"], check=True,
                capture_output=True, timeout=60).stdout
            demand(got == part, f"the range {wanted} is not the same")
        log = suite.directory / "head"
        got = subprocess.run(
            ["curl", "-sSf", "--compressed", "-D", log, server.url + "text.txt"], check=True,
            capture_output=True, timeout=60).stdout
        demand("content-encoding: gzip" in log.read_text().lower(), "the variant was not sent")
        demand(got == made["text.txt"], "the compressed variant is not the same")
        suite.say(f"{len(made)} files, 5 ranges, 1 compressed variant")


def film_file(suite):
    store = suite.store()
    content = random.Random(11).randbytes(FILM)
    source = store.add("v1", {"index.html": "film", "film.bin": content}, activate=True)
    return store, source / "film.bin"


def wget(suite):
    store, source = film_file(suite)
    with store.serve() as server:
        relay = Relay(server.port, rate=20_000_000)
        target = suite.directory / "wget" / "film.bin"
        target.parent.mkdir()
        address = f"http://localhost:{relay.port}/film.bin"
        command = [
            "wget", "-q", "-c", "--tries=1", f"--header=Host: localhost:{server.port}", address]
        sizes = []
        for _ in range(3):
            running = subprocess.Popen(command, cwd=target.parent)
            before = sizes[-1] if sizes else 0
            deadline = time.monotonic() + 30
            while (not target.exists() or target.stat().st_size < before + (1 << 20)) \
                    and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            relay.cut()
            running.wait(30)
            sizes.append(target.stat().st_size)
        demand(sizes[0] < sizes[1] < sizes[2] < FILM, f"the download was not interrupted: {sizes}")
        relay.rate = None
        subprocess.run(command, cwd=target.parent, check=True, timeout=60)
        demand(filecmp.cmp(source, target, shallow=False), "the file is not the same")
        suite.say(f"interrupted at {', '.join(f'{size:,}' for size in sizes)} of {FILM:,} bytes")
        relay.close()


def aria2(suite):
    store, source = film_file(suite)
    with store.serve("--access-log", str(suite.directory / "aria2.log")) as server:
        done = subprocess.run(
            ["aria2c", "-q", "-x8", "-s8", "-k1M", "-d", str(suite.directory), "-o", "aria2.bin",
             server.url + "film.bin"], timeout=120, capture_output=True, text=True)
        demand(done.returncode == 0, f"aria2c ended with {done.returncode}: {done.stdout}")
        demand(
            filecmp.cmp(source, suite.directory / "aria2.bin", shallow=False),
            "the file is not the same")
    log = (suite.directory / "aria2.log").read_text()
    suite.say(f"{log.count(' 206 ')} answers of 206, {log.count(' 200 ')} of 200")
    demand(log.count(" 206 ") >= 7, "it was not fetched in parts")


def nginx(suite):
    store = suite.store()
    made = files()
    source = store.add("v1", made, activate=True)
    place = suite.directory / "nginx"
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "nginx.conf").write_text(f"""{user}
        daemon off; worker_processes 1; pid {place}/pid; error_log {place}/error.log;
        events {{ worker_connections 64; }}
        http {{ access_log off; client_body_temp_path {place}/a; proxy_temp_path {place}/b;
                fastcgi_temp_path {place}/c; uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
                sendfile on;
                server {{ listen 127.0.0.1:{port}; root {store.path}/current; }} }}""")
    running = subprocess.Popen(
        ["nginx", "-p", str(place), "-e", str(place / "error.log"), "-c", str(place / "nginx.conf")],
        stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        with store.serve() as server:
            for path in made:
                got = [
                    subprocess.run(
                        ["curl", "-sSf", f"http://localhost:{each}/{quoted(path)}"], check=True,
                        capture_output=True, timeout=60).stdout for each in (port, server.port)]
                demand(
                    got[0] == got[1] == (source / path).read_bytes(), f"{path} is not the same")
        store.add("v2", {"index.html": "the second"}, activate=True)
        got = subprocess.run(
            ["curl", "-sSf", f"http://localhost:{port}/"], check=True, capture_output=True).stdout
        demand(got == b"the second", "after activate nginx does not serve the new version")
        suite.say(f"{len(made)} files, and the next version at once after activate")
    finally:
        running.terminate()
        running.wait()
