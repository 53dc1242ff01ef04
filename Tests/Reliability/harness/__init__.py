"""What the reliability suites share: programs under test, their promises, disks that fail, and the count."""
