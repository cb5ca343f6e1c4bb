// The default places of daemons' sockets, by the rule of base/run_places.h.
import { lstatSync } from 'node:fs';

export const SYSTEM_RUN_DIR = '/run/cascaded';

// The owner of the folder; undefined if `path` is not a folder, or is a link.
export function ownerOf(path) {
  try {
    const info = lstatSync(path);
    return info.isDirectory() ? info.uid : undefined;
  } catch {
    return undefined;
  }
}

// The places in which a client of this user looks for a daemon, in this order: the first folder of
// $RUNTIME_DIRECTORY; /run/cascaded, if it is this user's, or the user is root and there is none;
// $XDG_RUNTIME_DIR/cascaded, /run/user/UID/cascaded and /tmp/cascaded-UID, if the folder in front
// of "/cascaded", and that in /tmp itself, is this user's; /run/cascaded, whoever's it is.
export function clientRunDirs(user, environment, owner) {
  const places = new Set();
  const { RUNTIME_DIRECTORY: systemd = '', XDG_RUNTIME_DIR: runtime = '' } = environment;
  if (systemd.startsWith('/')) places.add(systemd.split(':', 1)[0]);
  const ofSystem = owner(SYSTEM_RUN_DIR);
  if (ofSystem === user || (user === 0 && ofSystem === undefined)) places.add(SYSTEM_RUN_DIR);
  if (runtime.startsWith('/') && owner(runtime) === user) places.add(`${runtime}/cascaded`);
  const ofLogin = `/run/user/${user}`;
  if (owner(ofLogin) === user) places.add(`${ofLogin}/cascaded`);
  const temporary = `/tmp/cascaded-${user}`;
  if (owner(temporary) === user) places.add(temporary);
  places.add(SYSTEM_RUN_DIR);
  return [...places];
}
