// isola approval …: calls that wait for somebody, in one's own sessions or, for operators, in anybody's.
import type { Client } from '../../src/client/client.ts'
import { denyAll, inboxVerbs } from './approval-inbox.ts'
import { listVerbs } from './approval-list.ts'
import { argumentsOf, factsOfPause } from './approval-text.ts'
import { defineVerbs, type Context } from './command.ts'
import { waitingIn } from './chat/pauses.ts'
import type { Pause } from './chat/person.ts'
import { confirm } from './confirm.ts'
import { short, shown } from './text.ts'
import { UsageError } from './usage.ts'
import { wholeTree } from './whole-tree.ts'

/** One waiting call of a session or of a sub-agent below it. */
async function find(request: Client['request'], session: string, call: string) {
  const waiting = waitingIn(await wholeTree(request, session))
  const found = waiting.find(({ pause }) => pause.call === call)
  if (!found) throw new Error(`No call ${short(call)} waits in ${short(session)}.`)
  return found
}

/** The whole of what would run: nothing of it is cut. */
const described = (pause: Pause) =>
  [
    `${pause.tool} with ${argumentsOf(pause.input, 2)}`,
    ...factsOfPause(pause),
    `arguments ${pause.argsHash}`,
  ].join('\n')

async function approve({
  args: [session, call],
  values,
  request,
  print,
  stdin,
  stderr,
}: Context<{ readonly hash?: string | undefined }, [string, string]>) {
  const { session: id, run, pause } = await find(request, session, call)
  const params = { id, run }
  const { kind, reached } = pause
  if (kind === 'budget' && reached?.limit === undefined) {
    // A suspected loop: there are no arguments to look at.
    const body = { call, decision: 'approve' } as const
    const view = await request('POST /api/sessions/:id/runs/:run/decisions', { params, body })
    return print(view, `${run} goes on.`)
  }
  if (kind === 'budget')
    throw new Error(`${short(run)} waits at a limit: isola run raise ${short(id)} ${short(run)}`)
  if (kind !== 'approval')
    throw new Error(`${short(call)} waits for an answer: isola chat --session ${short(id)}`)
  const { hash } = values
  if (hash !== undefined && hash !== pause.argsHash)
    throw new Error(`${short(call)} would run with other arguments by now: ${pause.argsHash}.`)
  if (hash === undefined) {
    if (!stdin.isTTY)
      throw new UsageError(
        'Without a terminal to ask on, --hash is needed, as `list --json` has it.',
      )
    if (!(await confirm(`${shown(described(pause))}\nLet it run?`, { stdin, stderr }))) return 1
  }
  const body = { call, decision: 'approve', argsHash: pause.argsHash } as const
  const view = await request('POST /api/sessions/:id/runs/:run/decisions', { params, body })
  print(view, `${call} is approved; ${run} goes on.`)
}

async function deny(context: Context<{ readonly message?: string | undefined }>) {
  const { args, values, request, print } = context
  const { message } = values
  const [session = '', call] = args
  if (args.every((id) => id.startsWith('apr_'))) return denyAll(context, args, message)
  if (call === undefined || args.length > 2)
    throw new UsageError('Name a session and a call of it, or ids of the inbox.')
  const { session: id, run, pause } = await find(request, session, call)
  const body = { call, decision: 'deny', ...(message !== undefined && { message }) } as const
  const params = { id, run }
  const view = await request('POST /api/sessions/:id/runs/:run/decisions', { params, body })
  const what =
    pause.kind === 'budget'
      ? `The limit stays; ${run} ends with what it has so far.`
      : `${call} is denied; ${run} goes on without it.`
  print(view, what)
}

export default {
  noun: 'approval',
  verbs: defineVerbs({
    ...listVerbs,
    ...inboxVerbs,
    approve: {
      usage: 'isola approval approve <session> <call> [--hash <hash>]',
      about:
        'Lets the call run with exactly the arguments that are shown. On the record with who did it.',
      options: {
        hash: {
          type: 'string',
          value: 'hash',
          about: 'the `argsHash` that you looked at; asks nothing',
        },
      },
      run: approve,
    },
    deny: {
      usage:
        'isola approval deny <session> <call> [--message <text>]\n       isola approval deny <id>… [--message <text>]',
      about: 'The call does not run; its model reads why.',
      options: { message: { type: 'string', value: 'text', about: 'told to the model' } },
      run: deny,
    },
  }),
}
