// Once before the first file: what each start would make, and two at a time would make twice.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureVars } from '../../scripts/dev-vars.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { giveDatabase } from './migrated.mjs'

export default function prepare() {
  ensureVars(join(root, '.dev.vars'))
  const state = mkdtempSync(join(tmpdir(), 'isola-prepare-'))
  giveDatabase(state)
  rmSync(state, { recursive: true, force: true })
}
