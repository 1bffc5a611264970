// node scripts/with-node24.mjs <file> [args…]: runs a file on the pinned Node, with everything in place that a fresh
// clone lacks.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled, root, runNode, toolEnv, toolNode } from './toolchain.mjs'

await ensureInstalled()
const generated = await runNode([join(root, 'scripts', 'generate.mjs')], { capture: true })
if (generated.code !== 0) {
  console.error(generated.output.trim())
  process.exit(1)
}
const child = spawn(toolNode(), process.argv.slice(2), {
  env: toolEnv(),
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(error.message)
  process.exit(1)
})
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
