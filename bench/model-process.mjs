// The scripted model server in a process of its own, so that it and the load client do not share an event
// loop. Answers requests of its parent: `counters`, `latency`, `record` and `recorded`.
import { startModelServer } from '../test/fakes/model-server.mjs'

/** Characters of every final answer; the server sends it as one delta per 16 characters. */
const answer = 'The bench says the same thing every time, at the same length. '
  .repeat(3)
  .slice(0, 160)

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('')

/** The task names what the model does: `bench kv 10` is ten tool turns, `bench agent 1` one sub-agent. */
function reply({ body: { messages } }) {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const [, what, times] = /bench (\w+) (\d+)/.exec(textOf(messages[asked]?.content)) ?? []
  const done = messages.slice(asked).filter(({ role }) => role === 'tool').length
  if (done >= Number(times ?? 0)) return { text: answer }
  if (what === 'kv') return { toolCalls: [{ name: 'kv__get', arguments: { key: 'bench' } }] }
  if (what === 'agent') {
    const task = 'bench plain 0: review this function.'
    return { toolCalls: [{ name: 'code-reviewer__run', arguments: { task } }] }
  }
  return { text: answer }
}

let recorded
let calls = 0
const server = await startModelServer({
  script(request) {
    calls += 1
    recorded?.push(request.body)
    server.requests.length = 0 // the fake keeps every body; here they would be thousands
    return reply(request)
  },
})

process.on('message', ({ id, ask, value }) => {
  const answers = {
    counters: () => ({ calls, bytes: server.upstreamBytes, promptTokens: server.promptTokens }),
    errors: () => server.scriptErrors,
    latency: () => server.setLatency(value),
    record: () => void (recorded = []),
    recorded() {
      const bodies = recorded
      recorded = undefined
      return bodies
    },
  }
  process.send({ id, value: answers[ask]() })
})
process.on('disconnect', () => process.exit(0))
process.send({ id: 0, value: server.url })
