// npm run isola -- <noun> <verb> [options]: the command line, a client of the HTTP surface.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { isClone, root } from './toolchain.mjs'

// Taking types out of sixty files is half of a start, so what came of it is kept, where nobody else writes. This file has
// none: for its own types Node would load what takes them out each time.
if (isClone) enableCompileCache(join(root, 'node_modules', '.cache', 'isola'))
const { main } = await import('./isola/main.ts')

// `isola audit list | head` closes the pipe: that is no fault.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await main(process.argv.slice(2))
