// npm run isola -- <noun> <verb> [options]: the command line, a client of the HTTP surface.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { isClone, root } from './toolchain.mjs'

// Removing types from sixty files is half of a start, so the result is cached, in a folder that only this user
// writes. This file has no types: for them Node would load its type stripper at every start.
if (isClone) enableCompileCache(join(root, 'node_modules', '.cache', 'isola'))
const { main } = await import('../cli/main.ts')

// `isola audit list | head` closes the pipe: that is no fault.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await main(process.argv.slice(2))
