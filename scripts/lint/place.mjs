import { relative, resolve, sep } from 'node:path'

/** The folder of its room in which a file lies; undefined at the room's root. */
export function folderIn(room, file) {
  const parts = relative(room.folder, file).split(sep)
  return parts.length > 1 ? parts[0] : undefined
}

/** Where a file is: a room of src/, a bundled plugin, or a place without rules (undefined). */
export function locate(context) {
  const base = context.cwd
  const parts = relative(base, context.filename).split(sep)
  if (parts[0] === 'src' && parts.length > 2) {
    return {
      kind: 'room',
      name: parts[1],
      folder: resolve(base, 'src', parts[1]),
      path: parts.slice(1).join('/'),
    }
  }
  if (parts[0] === 'plugins' && parts.length > 2) {
    return {
      kind: 'plugin',
      name: parts[1],
      folder: resolve(base, 'plugins', parts[1]),
      path: parts.join('/'),
    }
  }
  return undefined
}
