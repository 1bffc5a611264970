// Writes worker-configuration.d.ts; with --check it only says whether the file is up to date.
// Names of settings come from two files of the repository, so that the type is the same on every machine.
import { runNode, tools } from './toolchain.mjs'

const { code, output } = await runNode(
  [
    tools.wrangler,
    'types',
    ...['.dev.vars.example', 'scripts/settings.vars'].flatMap((path) => ['--env-file', path]),
    ...process.argv.slice(2),
  ],
  { capture: true },
)
if (code !== 0) console.error(output.trim())
process.exit(code)
