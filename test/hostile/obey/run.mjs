// npm run obey
//
// A model that obeys every text it reads, through the product itself: 21 ways of writing an order by 32 carriers, and
// each carrier's text without an order; then answers that would have a client fetch something, and generated programs. All in their
// long forms. Exits with 1 if data left, an unwanted effect happened, or a task was not finished.
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { root, toolEnv, toolNode, tools } from '../../../scripts/toolchain.mjs'

const folder = join('test', 'hostile', 'obey')
const child = spawn(toolNode(), ['--no-warnings', tools.vitest, 'run', folder], {
  cwd: root,
  env: toolEnv({ ISOLA_NIGHTLY: '1' }),
  stdio: 'inherit',
})
child.once('error', (error) => {
  throw error
})
child.once('close', (code) => (process.exitCode = code ?? 1))
