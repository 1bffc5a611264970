import { relative, resolve, sep } from 'node:path'
import { placeOf } from './house.mjs'

/** Where a file lies: a room of src/, a bundled plugin, or a place without rules (undefined). */
export function locate(context) {
  const base = context.cwd
  const parts = relative(base, context.filename).split(sep)
  if (parts[0] === 'src') {
    const path = parts.slice(1).join('/')
    const place = placeOf(path)
    return (
      place && { kind: 'room', name: place.room, layer: place.layer, inside: place.inside, path }
    )
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
