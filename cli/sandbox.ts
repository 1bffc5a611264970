// Runs a module of another author in a workerd of its own, on its author's machine: no network, no files, and
// nothing of this machine's settings. Whatever of a plugin has to run for a command runs here, never in this process.
import { pathToFileURL } from 'node:url'
import type { Miniflare } from 'miniflare'
import { largeToolFile } from '../scripts/toolchain.mjs'

/** `globalOutbound` is null: left out, the module would have the network of the Worker that starts it. */
const starter = `
import contents from 'stranger.txt'
export * from 'host.js'
export default {
  async fetch(request, env, { exports }) {
    const worker = env.LOADER.load({
      compatibilityDate: '2026-08-01',
      compatibilityFlags: ['nodejs_compat'],
      mainModule: 'main.js',
      modules: { 'main.js': { js: contents } },
      env: exports.PluginRunner ? { RUNNER: exports.PluginRunner({ props: {} }) } : {},
      globalOutbound: null,
    })
    return worker.getEntrypoint().fetch(request)
  },
}`

interface Alone {
  readonly host?: string
  readonly onLine?: (line: string) => void
  readonly timeoutMs?: number
}

/**
 * Runs one ES module that imports nothing but what the runtime has, and answers what its `fetch` answers, as text.
 *
 * @param options.host A module of ours beside it. Its `PluginRunner` is `RUNNER` in there: all that it is ever given.
 * @param options.onLine Called with what it logs; untrusted text.
 * @param options.timeoutMs After so long it is ended: workerd has no limit of CPU on a developer's machine.
 */
export async function runAlone(contents: string, options: Alone = {}): Promise<string> {
  const { host = '', onLine = () => {}, timeoutMs = 30_000 } = options
  // By path: in a clone its own, else wherever npm put it.
  const { Miniflare, Log, LogLevel }: typeof import('miniflare') = await import(
    pathToFileURL(largeToolFile('miniflare', 'dist', 'src', 'index.js')).href
  )
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.NONE),
    // A made-up request.cf: nothing is asked of the network.
    cf: false,
    telemetry: { enabled: false },
    handleStructuredLogs: ({ message }) => onLine(String(message)),
    workers: [
      {
        config: {
          name: 'sandbox',
          type: 'worker',
          compatibilityDate: '2026-08-01',
          compatibilityFlags: ['nodejs_compat'],
          manifest: {
            mainModule: 'starter.js',
            // Only a name: everything is in memory.
            modulesRoot: '/',
            modules: {
              'starter.js': { type: 'esm', contents: starter },
              'host.js': { type: 'esm', contents: host },
              'stranger.txt': { type: 'text', contents },
            },
          },
          env: { LOADER: { type: 'worker-loader' } },
        },
      },
    ],
  })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const why = `What runs in the sandbox does not end: it was stopped after ${timeoutMs / 1_000} seconds.`
    timer = setTimeout(() => reject(new Error(why)), timeoutMs)
  })
  try {
    return await Promise.race([ask(miniflare), late])
  } finally {
    clearTimeout(timer)
    await miniflare.dispose()
  }
}

async function ask(miniflare: Miniflare) {
  await miniflare.ready
  const response = await miniflare.dispatchFetch('http://sandbox.test/').catch((cause) => {
    throw new Error('What ran in the sandbox has ended it.', { cause })
  })
  const text = await response.text()
  if (response.ok) return text
  throw new Error(text.split('\n')[0])
}
