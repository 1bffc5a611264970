import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolEnv } from '../../scripts/toolchain.mjs'

/**
 * Installs packages into a folder of their own, once.
 * @param last One of them: with it the folder is complete.
 */
export function install(name, packages, last) {
  const folder = join(tmpdir(), name)
  mkdirSync(folder, { recursive: true })
  if (existsSync(join(folder, 'node_modules', last))) return folder
  const about = { private: true, type: 'module', dependencies: packages }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(about))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: folder,
    env: toolEnv(),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return folder
}
