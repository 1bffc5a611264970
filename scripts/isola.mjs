// npm run isola -- <noun> <verb> [options]: the command line, a client of the HTTP surface.
import { main } from './isola/main.mjs'

// `isola audit list | head` closes the pipe: that is no fault.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await main(process.argv.slice(2))
