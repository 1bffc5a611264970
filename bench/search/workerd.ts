import { join } from 'node:path'
import { build } from 'esbuild'
import { Log, LogLevel, Miniflare } from 'miniflare'
import { toDocument, type SearchSet } from './data.ts'

const warmUps = 20
const address = 'http://search'

/** Milliseconds and entries read of each query, in workerd. The way to the Worker and back is taken off. */
export async function timeInWorkerd({ tools, queries }: Omit<SearchSet, 'name'>) {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'worker.ts')],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const contents = outputFiles[0]?.text ?? ''
  const runtime = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.NONE),
    cf: false,
    telemetry: { enabled: false },
    workers: [
      {
        config: {
          name: 'search',
          type: 'worker',
          compatibilityDate: '2026-08-01',
          manifest: {
            mainModule: 'worker.js',
            modulesRoot: '/',
            modules: { 'worker.js': { type: 'esm', contents } },
          },
        },
      },
    ],
  })
  const ask = async (path: string, body: string): Promise<{ ms: number; rows: number }> => {
    const from = performance.now()
    const answer = await runtime.dispatchFetch(`${address}${path}`, { method: 'POST', body })
    const { rows } = (await answer.json()) as { rows: number }
    return { ms: performance.now() - from, rows }
  }
  try {
    await ask('/build', JSON.stringify(tools.map(toDocument)))
    for (const { query } of queries.slice(0, warmUps)) await ask('/search', query)
    const [times, rows]: [number[], number[]] = [[], []]
    for (const { query } of queries) {
      const [way, search] = [await ask('/nothing', query), await ask('/search', query)]
      times.push(Math.max(0, search.ms - way.ms))
      rows.push(search.rows)
    }
    return { times, rows }
  } finally {
    await runtime.dispose()
  }
}
