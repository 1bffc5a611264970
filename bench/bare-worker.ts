// What the benchmark compares with: a Hono Worker and a Durable Object that keep a history and forward it to
// the model, one row a turn. No keys, no leases, no journal, no gates, no audit: the floor, not a product.
import { DurableObject } from 'cloudflare:workers'
import { Hono } from 'hono'

interface BareEnv {
  readonly BARE: DurableObjectNamespace<Bare>
  readonly OPENAI_BASE_URL: string
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

interface Completion {
  readonly choices: readonly { readonly message: Message }[]
}

let rows = 0

export class Bare extends DurableObject<BareEnv> {
  #history: Message[] | undefined

  override async fetch(request: Request): Promise<Response> {
    const { messages, stream } = await request.json<{ messages: Message[]; stream?: boolean }>()
    const history = (this.#history ??= this.#load())
    let fresh: Message[] = messages
    if (stream === true) return this.#passThrough(history, fresh)
    for (;;) {
      history.push(...fresh)
      const { choices } = await (await this.#ask(history, false)).json<Completion>()
      const message = choices[0]!.message
      history.push(message)
      this.#write([...fresh, message])
      if (!message.tool_calls) return Response.json({ choices })
      fresh = await Promise.all(message.tool_calls.map((call) => this.#answer(call)))
    }
  }

  #ask(history: readonly Message[], stream: boolean): Promise<Response> {
    return fetch(`${this.env.OPENAI_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'bench', messages: history, stream }),
    })
  }

  /** The sub-agent is an object of its own, as it is for Isola; any other tool is answered here. */
  async #answer({
    id,
    function: { name, arguments: input },
  }: NonNullable<Message['tool_calls']>[0]) {
    if (name !== 'code-reviewer__run') {
      return { role: 'tool', tool_call_id: id, content: JSON.stringify({ found: false }) }
    }
    const { task } = JSON.parse(input) as { task: string }
    const child = this.env.BARE.getByName(`${this.ctx.id.toString()}:${id}`)
    const response = await child.fetch('http://bare/', {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: task }] }),
    })
    const { choices } = await response.json<Completion>()
    return { role: 'tool', tool_call_id: id, content: choices[0]!.message.content }
  }

  async #passThrough(history: Message[], fresh: readonly Message[]): Promise<Response> {
    history.push(...fresh)
    const upstream = await this.#ask(history, true)
    const decoder = new TextDecoder()
    let text = ''
    const keep = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        text += decoder.decode(chunk, { stream: true })
        controller.enqueue(chunk)
      },
      flush: () => {
        const message = { role: 'assistant', content: contentOf(text) }
        history.push(message)
        this.#write([...fresh, message])
      },
    })
    return new Response(upstream.body!.pipeThrough(keep), {
      headers: { 'content-type': 'text/event-stream' },
    })
  }

  #load(): Message[] {
    const { sql } = this.ctx.storage
    rows += sql.exec(
      'CREATE TABLE IF NOT EXISTS turns (n INTEGER PRIMARY KEY, body TEXT)',
    ).rowsWritten
    const turns = sql.exec<{ body: string }>('SELECT body FROM turns ORDER BY n').toArray()
    return turns.flatMap(({ body }) => JSON.parse(body) as Message[])
  }

  #write(messages: readonly Message[]): void {
    const cursor = this.ctx.storage.sql.exec(
      'INSERT INTO turns (body) VALUES (?)',
      JSON.stringify(messages),
    )
    rows += cursor.rowsWritten
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

const app = new Hono<{ Bindings: BareEnv }>()
app.post('/v1/chat/completions', (context) =>
  context.env.BARE.getByName(context.req.header('x-isola-session') ?? '').fetch(context.req.raw),
)
app.get('/__bench/rows', (context) => context.json({ rows, statements: {} }))

export default app
