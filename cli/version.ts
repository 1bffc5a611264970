import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/toolchain.mjs'

/** The version of this command. */
export const ownVersion = (): string =>
  String(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
