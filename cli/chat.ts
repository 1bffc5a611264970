// isola chat: a conversation in the terminal, or one message a line from a pipe.
import { compactSession, describeCompaction, describeContext, readContext } from './session.ts'
import { openInput, type Lines } from './chat/input.ts'
import { followRun, talk, type Chat, type Ending } from './chat/turn.ts'
import { createView } from './chat/view.ts'
import { command, type Context } from './command.ts'
import { text, texts, type ValuesOf, near, UsageError } from './options.ts'
import { messageOf, short, table } from './text.ts'

const slashCommands = {
  '/help': 'what there is',
  '/cancel': 'cancel the run that works',
  '/context': 'what fills the window of the model, and what the next request costs',
  '/compact': 'make room: a summary of what was said goes on',
  '/persona': 'how it speaks in this session: /persona <name>, none for its own voice',
  '/return': 'take the conversation back from an agent that it was handed to',
  '/session': 'the id of this session, for --session',
  '/quit': 'leave; what runs goes on',
}
const help = [
  ...Object.entries(slashCommands).map(([name, about]) => `  ${name.padEnd(9)} ${about}`),
  '  Ctrl-C    the same as /cancel; leaves where nothing works',
  '  A message that begins with a slash: //…',
].join('\n')

/** The session to talk in: a new one, or the one that was named. */
async function openSession({ values, ask }: Context<Values>) {
  const { session, agent, persona } = values
  if (session === undefined) return ask('POST /api/sessions', { agent, persona })
  if (agent !== undefined)
    throw new UsageError('A session has its agent already: --session or --agent, not both.')
  if (persona !== undefined) await ask('POST /api/sessions/:id', { persona }, [session])
  return ask('GET /api/sessions/:id', undefined, [session])
}

const isLive = ({ state }: { readonly state: string }) =>
  ['queued', 'running', 'parked'].includes(state)

/** The effects of Ctrl-C, /cancel and the end on the conversation. */
function createControls(chat: Pick<Chat, 'run' | 'session' | 'request' | 'view'>) {
  const left = new AbortController()
  let asking = new AbortController()
  let isCancelling = false
  const cancel = () => {
    if (!chat.run || isCancelling) return false
    isCancelling = true
    asking.abort()
    chat.view.note('! cancelling … (Ctrl-C again leaves)')
    const params = { id: chat.session, run: chat.run }
    chat
      .request('POST /api/sessions/:id/runs/:run/cancel', { params })
      .catch((error: Error) => chat.view.note(`! ${error.message}`))
    return true
  }
  return {
    signal: left.signal,
    cancel,
    leave: () => (left.abort(), asking.abort()),
    /** The signal of the questions that are open: a cancel closes them. */
    asking: () => asking.signal,
    begin: () => {
      isCancelling = false
      asking = new AbortController()
      if (left.signal.aborted) asking.abort()
    },
  }
}

type Controls = ReturnType<typeof createControls>

/** Requests about the session, with the text of each answer. */
const requests: Readonly<Record<string, (chat: Chat, given?: string) => Promise<string>>> = {
  '/context': async ({ request, session }) => describeContext(await readContext(request, session)),
  '/compact': async ({ request, session, model }) =>
    describeCompaction(await compactSession(request, session, model)),
  async '/persona'({ request, session: id }, persona) {
    const params = { id }
    if (persona !== undefined) {
      const now = await request('POST /api/sessions/:id', { params, body: { persona } })
      return `Persona: ${now.persona ?? 'none'}, from the next message on.`
    }
    const [{ persona: spoken = 'that of your key, if it has one' }, { personas }] =
      await Promise.all([
        request('GET /api/sessions/:id', { params }),
        request('GET /api/personas'),
      ])
    const rows = personas.map(({ name, description }) => [name, short(description, 80)])
    return `Persona: ${spoken}. There are:\n${table(rows)}`
  },
}

/** Runs a line that is a command; true, now or later, if it was a command. */
function runSlash(
  line: string,
  { chat, controls, isTyped }: { chat: Chat; controls: Controls; isTyped: boolean },
): boolean | Promise<boolean> {
  const { note } = chat.view
  const word = line.trim()
  if (!/^\/[a-z]/.test(word)) return false
  const [name = '', given] = word.split(/\s+/)
  if (name === '/return') return false // the session knows it
  if (word === '/quit') controls.leave()
  else if (word === '/cancel') {
    if (!controls.cancel()) note('Nothing runs.')
  } else if (isTyped && chat.run) return false // an answer, or a message for later
  else if (word === '/help') note(help)
  else if (word === '/session') note(chat.session)
  else if (Object.hasOwn(requests, name) && (name === word || name === '/persona')) {
    const failed = (error: unknown) => `! ${messageOf(error)}`
    const said = requests[name]?.(chat, given).catch(failed)
    return Promise.resolve(said).then((text = '') => (note(text), true))
  } else {
    const meant = near(word, Object.keys(slashCommands))
    const hint = meant.length > 0 ? `Did you mean ${meant.join(' or ')}?` : ''
    note(`There is no ${word}. ${hint || '/help lists what there is.'}`)
  }
  return true
}

/** @param live A run that was under way already. */
async function converse(
  chat: Chat,
  controls: Controls,
  { input, live }: { readonly input: Lines; readonly live: string | undefined },
) {
  let isWell = true
  const finish = ({ result, state }: Ending) =>
    (isWell &&= result?.success === true || state === 'completed')
  /** Tells a failure; `left` if the person has gone meanwhile. */
  const attempt = async (work: () => Promise<Ending>): Promise<'done' | 'left'> => {
    try {
      finish(await work())
    } catch (error) {
      if (controls.signal.aborted) return 'left'
      // At a terminal a person may try again; a pipe cannot.
      if (!input.isTerminal) {
        chat.view.note(`To go on: isola chat --session ${chat.session}`)
        throw error
      }
      chat.view.note(`! ${messageOf(error)}`)
    }
    return 'done'
  }
  if (live !== undefined) {
    chat.run = live
    await attempt(() => followRun(chat, live))
    chat.run = undefined
  }
  while (!controls.signal.aborted) {
    controls.begin()
    const line = await input.next('> ', controls.signal)
    if (line === undefined) break
    if (line.trim() === '') continue
    if (await runSlash(line, { chat, controls, isTyped: false })) continue
    if ((await attempt(() => talk(chat, line.replace(/^\s*\/\//, '/')))) === 'left') break
  }
  return isWell && !chat.isUnanswered
}

async function run(context: Context<Values>) {
  const { values, connect, request } = context
  const tree = await openSession(context)
  // Each needs the others once something happens.
  const view = createView({ ...context, isTyping: () => input.isTyping() })
  const controls = createControls({
    request,
    view,
    session: tree.id,
    get run() {
      return chat.run
    },
  })
  const chat: Chat = {
    request,
    events: connect().events,
    view,
    session: tree.id,
    model: values.model,
    requireApproval: values.approve,
    signal: controls.signal,
    asking: controls.asking,
    ask: (prompt) => input.next(prompt, controls.asking()),
    get isTerminal() {
      return input.isTerminal
    },
    sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
    isUnanswered: false,
  }
  const isQuick = (line: string) => /^\/(quit|cancel)\s*$/.test(line.trim())
  const input: Lines = openInput(context, {
    onLine: (line) => isQuick(line) && runSlash(line, { chat, controls, isTyped: true }),
    onInterrupt: () => controls.cancel() || controls.leave(),
  })
  view.note(
    `Session ${tree.id} with ${tree.agent}.${input.isTerminal ? ' /help lists the commands.' : ''}`,
  )
  try {
    const isWell = await converse(chat, controls, { input, live: tree.runs.find(isLive)?.id })
    if (input.isTerminal) view.note(`To go on: isola chat --session ${tree.id}`)
    return isWell || input.isTerminal ? 0 : 1
  } finally {
    input.close()
  }
}

const options = {
  agent: text('name', 'orchestrator unless named'),
  session: text('id', 'go on in this session'),
  model: text('name', "instead of the agent's own"),
  persona: text('name', 'how it speaks in this session; none: as itself'),
  approve: texts('tool', 'ask before each call: a name, <plugin>__* or *'),
}
type Values = ValuesOf<typeof options>

export default command('chat', {
  usage: '[--agent <name>] [--session <id>] [--model <name>] [--persona <name>] [--approve <tool>]',
  about: `Talks to an agent. From a pipe each line is one message; a question, a field of a form or an approval
takes the next line (y: this call, s: what is like it in this session too, a: wherever it is asked again, n: no).
The exit code is 1 if a run of a pipe did not complete, or no person answered it. While you talk:
${help}`,
  options,
  run,
})
