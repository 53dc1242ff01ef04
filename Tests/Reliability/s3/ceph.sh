# sourced by start: Ceph (Debian packages): one mon, one OSD, one radosgw; no mgr, no mds
PKGS="ceph-mon ceph-osd radosgw"
ACCESS_KEY=CASTESTKEY0000000001; SECRET_KEY=castestsecret0000000000000000000000000001

engine_install() {
  local missing=()
  for p in $PKGS; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} = 0 ] && return 0
  [ "$(id -u)" = 0 ] || { echo "install ${missing[*]} first (root), or run this once as root" >&2; return 1; }
  # Packages must not start daemons of their own.
  local pol=/usr/sbin/policy-rc.d made=0 try
  [ -e $pol ] || { printf '#!/bin/sh\nexit 101\n' > $pol; chmod 755 $pol; made=1; }
  # apt unpacks under TMPDIR: /tmp may be swept by others in the middle (seen once: "cannot access archive").
  for try in 1 2; do
    if TMPDIR=/var/tmp DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y \
        --no-install-recommends "${missing[@]}" >> "$DIR/log/apt.log" 2>&1; then try=0; break; fi
    TMPDIR=/var/tmp dpkg --configure -a >> "$DIR/log/apt.log" 2>&1 || true
    apt-get update >> "$DIR/log/apt.log" 2>&1 || true
    TMPDIR=/var/tmp DEBIAN_FRONTEND=noninteractive apt-get -f install -y --no-install-recommends >> "$DIR/log/apt.log" 2>&1 || true
  done
  [ $made = 0 ] || rm -f $pol
  [ "$try" = 0 ] || { tail -5 "$DIR/log/apt.log" >&2; return 1; }
}

engine_configure() {
  CONF=$DIR/ceph.conf
  PMON=$((PORT+1)); POSD=$((PORT+10))
  [ -e "$CONF" ] && return 0
  mkdir -p "$DIR"/{mon,osd0,sock}
  local fsid; fsid=$(cat /proc/sys/kernel/random/uuid)
  cat > "$CONF" <<C
[global]
fsid = $fsid
mon_host = [v2:127.0.0.1:$PMON]
mon_initial_members = a
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = $DIR/keyring
auth_allow_insecure_global_id_reclaim = false
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr1 = false
ms_bind_port_min = $POSD
ms_bind_port_max = $((POSD+20))
run_dir = $DIR/sock
admin_socket = $DIR/sock/\$name.asok
pid_file =
log_file =
log_to_stderr = true
err_to_stderr = true
log_to_file = false
debug_default = 0
debug_osd = 0
debug_mon = 0
debug_bluestore = 0
debug_bluefs = 0
debug_rocksdb = 0
debug_bdev = 0
debug_rgw = ${S3_DEBUG_RGW:-0}
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
# quick turns of a one-node cluster (the defaults are for many nodes)
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
mon_tick_interval = 1
osd_heartbeat_grace = 20
osd_mon_report_interval = 1
# a killed radosgw leaves watches; writers of bucket metadata wait for them (default 30 s)
osd_client_watch_timeout = 3
mon_osd_reporter_subtree_level = osd
mon_data_avail_crit = 1
mon_data_avail_warn = 2
[mon]
mon_data = $DIR/mon
mon_cluster_log_file =
[osd]
osd_data = $DIR/osd0
osd_journal = $DIR/osd0/journal
osd_objectstore = ${S3_OBJECTSTORE:-bluestore}
memstore_device_bytes = 4G
bluestore_block_create = true
bluestore_block_size = ${S3_OSD_BYTES:-10737418240}
bluestore_fsck_on_mount = false
osd_memory_target = 939524096
osd_memory_cache_min = 67108864
bluestore_cache_autotune = true
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 2
[client]
rgw_frontends = beast endpoint=127.0.0.1:$PORT tcp_nodelay=1
rgw_thread_pool_size = 64
rgw_enable_usage_log = false
rgw_enable_ops_log = false
rgw_rados_pool_pg_num_min = 4
rgw_override_bucket_index_max_shards = ${S3_SHARDS:-1}
rgw_dynamic_resharding = false
rgw_gc_obj_min_wait = 30
rgw_lc_debug_interval = ${S3_LC_DEBUG:--1}
rgw_relaxed_s3_bucket_names = true
C
  # one keyring for every part (all of it is on this machine, private to DIR)
  ceph-authtool --create-keyring "$DIR/keyring" --gen-key -n mon. --cap mon 'allow *' >/dev/null
  ceph-authtool "$DIR/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' >/dev/null
  ceph-authtool "$DIR/keyring" --gen-key -n client.rgw --cap mon 'allow rw' --cap osd 'allow rwx' >/dev/null
  ceph-authtool "$DIR/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd' >/dev/null
  chmod 600 "$DIR/keyring"
  monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$PMON]" "$DIR/monmap" >/dev/null
  ceph-mon -c "$CONF" --mkfs -i a --monmap "$DIR/monmap" --keyring "$DIR/keyring" 2>>"$DIR/log/mon.log"
}

C() { timeout "${CT:-20}" ceph -c "$CONF" --name client.admin "$@"; }

engine_component() {
  CONF=$DIR/ceph.conf
  case $1 in
    mon) spawn mon ceph-mon -c "$CONF" -i a -f ;;
    osd)
      if [ ! -e "$DIR/osd0/ready" ]; then
        local u; u=$(cat /proc/sys/kernel/random/uuid)
        C osd new "$u" >/dev/null 2>>"$DIR/log/ceph.log"
        trace "osd new"
        ceph-osd -c "$CONF" -i 0 --mkfs --osd-uuid "$u" >>"$DIR/log/osd.log" 2>&1
        touch "$DIR/osd0/ready"; trace "osd mkfs"
      else
        C osd down 0 >/dev/null 2>&1 || true   # else clients wait ~8 s on the old incarnation
      fi
      spawn osd ceph-osd -c "$CONF" -i 0 -f
      local i; for i in $(seq 100); do
        [ "$(C osd stat -f json 2>/dev/null | tr -d ' ' | grep -o '"num_up_osds":[0-9]*')" = '"num_up_osds":1' ] && break; sleep 0.1; done
      trace "osd up" ;;
    rgw)
      if [ ! -e "$DIR/user.json" ]; then
        timeout 50 radosgw-admin -c "$CONF" user create --uid test --display-name test --access-key "$ACCESS_KEY" \
          --secret-key "$SECRET_KEY" > "$DIR/user.json.tmp" 2>>"$DIR/log/rgw.log" && mv "$DIR/user.json.tmp" "$DIR/user.json"; trace "user create"
      fi
      spawn rgw radosgw -c "$CONF" -n client.rgw -f ;;
  esac
}
engine_components() { echo mon osd rgw; }
engine_ready() { curl -s -m 3 -o /dev/null "http://127.0.0.1:$PORT/"; }
