// The scripted model server in a process of its own, so that it and the load client do not share an event
// loop. Answers requests of its parent: `counters`, `latency`, `record` and `recorded`.
import { startModelServer } from '../test/fakes/model-server.mjs'
import { reply } from './model-script.mjs'

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
