#!/usr/bin/python3
"""Make a bucket on the server of start, readable by anybody:  . DIR/s3.env; bucket.py NAME [get|list|all|none]
get: GetObject for all, as on most real buckets (a missing key is 403);  list: ListBucket too (404);  all: anything;
none: private."""
import json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from s3sig import S3
e, name, rights = os.environ, sys.argv[1], (sys.argv[2:] or ["get"])[0]
s = S3(e["S3_ENDPOINT"], e["S3_ACCESS_KEY"], e["S3_SECRET_KEY"])
made = s.req("PUT", "/" + name)[0]
all_of = ["arn:aws:s3:::%s/*" % name, "arn:aws:s3:::%s" % name]
rules = {"get": [("s3:GetObject", all_of[0])], "list": [("s3:GetObject", all_of[0]), ("s3:ListBucket", all_of[1])],
         "all": [("s3:*", place) for place in all_of], "none": []}[rights]
policy = {"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": [a], "Resource": [r]} for a, r in rules]}
done = 204 if rights == "none" else s.req("PUT", "/" + name, json.dumps(policy).encode(), query={"policy": ""})[0]
print("%s/%s (bucket %d, policy %d)" % (e["S3_ENDPOINT"], name, made, done))
sys.exit(0 if made in (200, 409) and done in (200, 204) else 1)
