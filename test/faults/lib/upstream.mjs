// What the Worker under test talks to: a model that does what the task itself says, and a server that counts effects.
import { createServer } from 'node:http'
import { startModelServer } from '../../fakes/model-server.mjs'

const planMark = 'PLAN '
const maxRemembered = 200

/**
 * A task that tells the scripted model its replies, for any caller and any number of requests.
 *
 * @param plan.turns Lists of calls `[name, arguments]`, one list a turn; then `text` is the answer.
 * @param plan.delayMs The delay of each answer.
 * @param plan.maxChars Limit of the messages as JSON; longer ones are refused as too long.
 */
export const taskOf = (plan) => `${planMark}${JSON.stringify(plan)}`

const textOf = ({ content }) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('')

function nextReply({ body }) {
  const at = body.messages.findLastIndex(
    (message) => message.role === 'user' && textOf(message).startsWith(planMark),
  )
  if (at < 0) return { text: 'There is no plan.' }
  if (isOutcome(body.messages.at(-1)) && isAnswer(body.messages.at(-2))) return { text: 'heard' }
  const plan = planIn(textOf(body.messages[at]))
  const { turns = [], text = 'done', maxChars = Infinity, ...timing } = plan
  if (JSON.stringify(body.messages).length > maxChars) return tooLong
  const made = body.messages.slice(at).filter((message) => message.tool_calls?.length > 0).length
  const calls = turns[made]
  if (!calls) return { text, ...timing }
  return { toolCalls: calls.map(([name, input]) => ({ name, arguments: input })), ...timing }
}

const tooLong = {
  status: 400,
  body: {
    error: {
      message: 'Your messages are too long.',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  },
}

/** The outcomes of background work, after all that was planned was done. */
const isOutcome = (message) =>
  message.role === 'user' && textOf(message).includes('started in the background')
const isAnswer = ({ role, tool_calls: calls = [] }) => role === 'assistant' && calls.length === 0

/** Up to the line's end: what follows was added on the way. */
const planIn = (text) => JSON.parse(text.slice(planMark.length).split('\n')[0])

export async function startUpstream() {
  const effects = await startEffects()
  const model = await startModelServer({
    script(record) {
      if (model.requests.length > maxRemembered) model.requests.length = 0
      return nextReply(record)
    },
  })
  return {
    modelUrl: model.url,
    collectorUrl: effects.url('look', 'otlp'),
    effects,
    scriptErrors: model.scriptErrors,
    close: () => Promise.all([model.close(), effects.close()]),
  }
}

/**
 * `/honour/<name>` executes once per Idempotency-Key, `/plain/<name>` whenever it is asked, `/look` has no effect.
 * `?ms=` delays the answer, not the effect.
 */
async function startEffects() {
  const calls = new Map()
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1')
    const [, mode, ...rest] = url.pathname.split('/')
    if (mode !== 'look')
      count({ mode, name: rest.join('/'), key: request.headers['idempotency-key'] })
    request.resume()
    setTimeout(() => response.end('ok'), Number(url.searchParams.get('ms') ?? 0))
  })
  function count({ mode, name, key = '' }) {
    const call = calls.get(name) ?? { mode, requests: 0, executed: 0, keys: new Set() }
    calls.set(name, call)
    call.requests += 1
    if (mode !== 'honour' || !call.keys.has(key)) call.executed += 1
    call.keys.add(key)
  }
  server.keepAliveTimeout = 0
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${server.address().port}`
  return {
    url: (mode, name, ms = 0) => `${base}/${mode}/${name}${ms > 0 ? `?ms=${ms}` : ''}`,
    /** Of logical calls whose name begins so: `{ mode, requests, executed }` each. */
    of: (prefix) => [...calls].filter(([name]) => name.startsWith(prefix)),
    forget(prefix) {
      for (const [name] of calls) if (name.startsWith(prefix)) calls.delete(name)
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
