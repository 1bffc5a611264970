// Where a file lies: its layer and its room.
import { layers } from '../lint/house.mjs'

/**
 * The room of a file, by its path from src/: `layer/room` within a layer, else the first folder. A file beside the
 * folders, such as the Worker's entry, is of the room `src`.
 */
export function roomOf(path: string): string {
  const [first = '', second, ...rest] = path.split('/')
  if (second === undefined) return 'src'
  return layers.includes(first) && first !== 'contracts' && rest.length > 0
    ? `${first}/${second}`
    : first
}

/** The layer of a room; a room outside the layers is its own. */
export const layerOf = (room: string): string => room.split('/')[0] ?? room
