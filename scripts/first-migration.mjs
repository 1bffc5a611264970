// Whether a database was made by a build before the first release: its first migration has another name than ours.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './toolchain.mjs'

const folder = join(root, 'migrations')

/** Names of the files of migrations/, in their order. */
export const migrationFiles = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()

/** @param applied Names that the database has in `d1_migrations`. */
export const isOfOlderBuild = (applied) =>
  applied.length > 0 && !applied.includes(migrationFiles()[0])
