// node scripts/with-node24.mjs <file> [args…]: runs a file on the pinned Node, installing first if needed.
import { spawn } from 'node:child_process'
import { ensureInstalled, root, toolEnv, toolNode } from './toolchain.mjs'

await ensureInstalled()
const child = spawn(toolNode(), process.argv.slice(2), {
  cwd: root,
  env: toolEnv(),
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(error.message)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
