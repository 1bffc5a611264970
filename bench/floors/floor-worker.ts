// The benchmark's lower bound, not a product: Hono, one Durable Object a session, a hand-written loop on
// fetch. No keys, leases, gates, audit. Its requests are those of a small agent: a system prompt and two tools.
//
//   bare-do           one row a turn, written when it is over
//   bare-do-journal   JOURNAL=1: one row when the turn is accepted and one a model step, so that a turn goes on after a kill
//
// A floor never changes in the commit that changes the product.
import { DurableObject } from 'cloudflare:workers'
import { Hono } from 'hono'

interface FloorEnv {
  readonly FLOOR_SESSION: DurableObjectNamespace<FloorSession>
  readonly FLOOR_SPECIALIST: DurableObjectNamespace<FloorSpecialist>
  readonly OPENAI_BASE_URL: string
  readonly JOURNAL?: string
}

interface ToolCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly ToolCall[]
}

interface Completion {
  readonly choices: readonly { readonly message: Message }[]
}

const tool = (name: string, description: string, parameter: string) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: {
      type: 'object',
      properties: { [parameter]: { type: 'string', description: 'The input.' } },
      required: [parameter],
      additionalProperties: false,
    },
  },
})

const readKey = tool('kv__get', 'Read the value stored under a key.', 'key')
const readFile = tool('files__read', 'Read a text file of the workspace.', 'path')
const delegate = tool('code-reviewer__run', 'Delegate a review to the reviewer.', 'task')

let rows = 0
const maxSteps = 20

/** Whether a turn that ends with this message still has something to do. */
const isOpen = (last: Message | undefined): boolean =>
  last !== undefined && (last.role !== 'assistant' || (last.tool_calls?.length ?? 0) > 0)

abstract class Floor extends DurableObject<FloorEnv> {
  abstract readonly system: string
  abstract readonly tools: readonly object[]
  abstract answer(call: ToolCall): Promise<string>
  readonly #history: Message[]

  constructor(context: DurableObjectState, env: FloorEnv) {
    super(context, env)
    const { sql } = context.storage
    rows += sql.exec(
      'CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, body TEXT NOT NULL)',
    ).rowsWritten
    const kept = sql.exec<{ body: string }>('SELECT body FROM turns ORDER BY id').toArray()
    this.#history = kept.flatMap(({ body }) => JSON.parse(body) as Message[])
  }

  /** Runs one turn. A turn that was cut off is finished first; the same task again counts as that turn. */
  async turn(task: string): Promise<string> {
    const asked = this.#history.findLast(({ role }) => role === 'user')
    const wasOpen = isOpen(this.#history.at(-1))
    const finished = wasOpen ? await this.#work([]) : ''
    if (wasOpen && asked?.content === task) return finished
    return this.#work([{ role: 'user', content: task }])
  }

  /** Text deltas go out as they arrive; the row is written at the end, with a journal also at the beginning. */
  async stream(task: string): Promise<Response> {
    const asked: Message[] = [{ role: 'user', content: task }]
    const upstream = await this.#ask([...this.#history, ...asked], true)
    if (this.#isJournal) this.#commit(asked.splice(0))
    const decoder = new TextDecoder()
    let text = ''
    const keep = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        text += decoder.decode(chunk, { stream: true })
        controller.enqueue(chunk)
      },
      flush: () => this.#commit([...asked, { role: 'assistant', content: contentOf(text) }]),
    })
    return new Response(upstream.body!.pipeThrough(keep), {
      headers: { 'content-type': 'text/event-stream' },
    })
  }

  /** Alternates model and tools from the end of the history. @param fresh Messages that are not written yet. */
  async #work(fresh: Message[]): Promise<string> {
    for (let step = 0; step < maxSteps; step += 1) {
      const last = fresh.at(-1) ?? this.#history.at(-1)
      const calls = last?.tool_calls ?? []
      for (const call of calls)
        fresh.push({ role: 'tool', tool_call_id: call.id, content: await this.answer(call) })
      // The request is on its way before the row is written, in both floors.
      const reply = this.#ask([...this.#history, ...fresh], false)
      if (this.#isJournal) this.#commit(fresh.splice(0))
      const { choices } = await (await reply).json<Completion>()
      const { message } = choices[0]!
      fresh.push(message)
      if (!isOpen(message)) {
        this.#commit(fresh)
        return message.content ?? ''
      }
    }
    throw new Error('too many steps')
  }

  get #isJournal(): boolean {
    return this.env.JOURNAL === '1'
  }

  async #ask(messages: readonly Message[], stream: boolean): Promise<Response> {
    const response = await fetch(`${this.env.OPENAI_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
      body: JSON.stringify({
        model: 'bench',
        messages: [{ role: 'system', content: this.system }, ...messages],
        tools: this.tools,
        ...(stream && { stream: true }),
      }),
    })
    if (!response.ok) throw new Error(`the model answered ${response.status}`)
    return response
  }

  #commit(messages: readonly Message[]): void {
    this.#history.push(...messages)
    const text = JSON.stringify(messages)
    rows += this.ctx.storage.sql.exec('INSERT INTO turns (body) VALUES (?)', text).rowsWritten
  }
}

const inputOf = (call: ToolCall) =>
  JSON.parse(call.function.arguments) as { readonly path?: string; readonly task?: string }

export class FloorSpecialist extends Floor {
  readonly system = 'You are a specialist.'
  readonly tools = [readFile]
  override answer = async (call: ToolCall) => `text of ${inputOf(call).path}`
}

export class FloorSession extends Floor {
  readonly system = 'You are a helpful assistant.'
  readonly tools = [readKey, delegate]

  /** The sub-agent is an object of its own, found again by the call after a kill. */
  override async answer(call: ToolCall): Promise<string> {
    const { task } = inputOf(call)
    if (task === undefined) return JSON.stringify({ found: false })
    return this.env.FLOOR_SPECIALIST.getByName(`${this.ctx.id.toString()}:${call.id}`).turn(task)
  }
}

function contentOf(events: string): string {
  return events
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => {
      const { choices } = JSON.parse(line.slice(6)) as {
        choices: { delta?: { content?: string } }[]
      }
      return choices[0]?.delta?.content ?? ''
    })
    .join('')
}

const app = new Hono<{ Bindings: FloorEnv }>()
app.post('/v1/chat/completions', async (context) => {
  const { messages, stream } = await context.req.json<{ messages: Message[]; stream?: boolean }>()
  const session = context.env.FLOOR_SESSION.getByName(context.req.header('x-isola-session') ?? '')
  const task = messages.at(-1)?.content ?? ''
  if (stream === true) return session.stream(task)
  const message = { role: 'assistant', content: await session.turn(task) }
  return context.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
})
app.get('/__bench/counts', (context) => context.json({ rows }))
app.get('/healthz', (context) => context.text('ok'))

export default app
