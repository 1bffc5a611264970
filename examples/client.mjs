// A program that talks to a deployment: ISOLA_URL=https://… ISOLA_KEY=… node client.mjs "What time is it?"
// It needs the package: npm install isola-<version>.tgz (docs/contributing.md, "The command as a package").
// It also runs in a Worker and in a browser: `isola/client` needs nothing but fetch.
import { ApiError, createClient } from 'isola/client'

const client = createClient({
  url: process.env.ISOLA_URL ?? 'http://localhost:8787',
  key: process.env.ISOLA_KEY,
})
const task = process.argv[2] ?? 'What time is it?'

try {
  const { id } = await client.request('POST /api/sessions')
  // The same key joins the run that is there: a request whose answer got lost may be sent again.
  const { run } = await client.request('POST /api/sessions/:id/runs', {
    params: { id },
    body: { task },
    headers: { 'idempotency-key': crypto.randomUUID() },
  })
  for await (const item of client.events(id, { run })) {
    if (item.type === 'tool_started') console.log(`${item.data.tool} was called`)
    if (item.type === 'run_finished') console.log(item.data.state)
  }
} catch (error) {
  if (!(error instanceof ApiError)) throw error
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
}
