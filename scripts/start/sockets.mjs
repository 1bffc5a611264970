// Where the parts of a local server find each other: files of one folder instead of ports, which every account of this
// machine and every page in a browser could ask. Node builtins only.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The name of a socket is at most 104 bytes long on macOS, 108 on Linux; `/loopback` is part of it. */
const maxFolderBytes = 90

/** A new folder for sockets: only this account may enter it (mode 0700, as mkdtemp makes it). */
export function makeSocketFolder() {
  const name = join(tmpdir(), 'isola-')
  return mkdtempSync(Buffer.byteLength(name) + 6 > maxFolderBytes ? '/tmp/isola-' : name)
}

/**
 * @returns `worker`: the Worker itself, as the edge would ask it. `entry`: Miniflare's own entry, which knows triggers.
 *   `loopback`: where workerd asks Miniflare.
 */
export const socketsIn = (folder) => ({
  // Miniflare adds a port to each address of a Worker.
  worker: join(folder, 'worker:0'),
  entry: join(folder, 'entry'),
  loopback: join(folder, 'loopback'),
})
