// isola approval …: calls that wait for somebody, in one's own sessions or, for operators, in anybody's.
import { listVerbs } from './approval-list.ts'
import { allowCall, checkMayAllow, denyCall } from './approval-decide.ts'
import { findCall, findInSession } from './approval-find.ts'
import { describedWaiting } from './waiting.ts'
import { allow, allowOptions, denyIds, inboxVerbs } from './approval-inbox.ts'
import { defineVerbs, type Context, type ValuesOf } from './command.ts'
import { confirm } from './confirm.ts'
import { short } from './text.ts'
import { UsageError } from './usage.ts'

const approveOptions = {
  ...allowOptions,
  hash: {
    type: 'string',
    value: 'hash',
    about: 'the `argsHash` that you looked at; asks nothing',
  },
} as const
type ApproveValues = ValuesOf<typeof approveOptions>

async function approve(context: Context<ApproveValues, [string, string?]>) {
  const { args, values, request, print, stdin, stderr } = context
  const [session, call] = args
  const { hash, yes } = values
  if (call === undefined && hash === undefined) return allow({ ...context, args: [session] })
  const waiting =
    call === undefined
      ? await waitingUnder(request, session)
      : await findInSession(request, session, call)
  checkMayAllow(waiting, values)
  const { pause } = waiting
  if (pause.kind === 'approval') {
    if (hash !== undefined && hash !== pause.argsHash)
      throw new Error(
        `${short(pause.call)} would run with other arguments by now: ${pause.argsHash}.`,
      )
    if (hash === undefined && !yes) {
      if (!stdin.isTTY)
        throw new UsageError(
          'Without a terminal to ask on, --hash is needed, as `list --json` has it.',
        )
      const question = `${describedWaiting(waiting)}\nLet it run?`
      if (!(await confirm(question, { stdin, stderr }))) return 1
    }
  }
  const { view, text } = await allowCall(request, waiting, { limits: values })
  print(view, text)
}

async function waitingUnder(request: Context['request'], id: string) {
  const { entry, waiting } = await findCall(request, id)
  return waiting ?? findInSession(request, entry.session, entry.call)
}

async function deny(context: Context<{ readonly message?: string | undefined }>) {
  const { args, values, request, print } = context
  const { message } = values
  const [session = '', call] = args
  if (!session.startsWith('ses_')) return denyIds(context, args, message)
  if (call === undefined || args.length > 2)
    throw new UsageError('Name a session and a call of it, or ids of `isola approval list`.')
  const { view, text } = await denyCall(
    request,
    await findInSession(request, session, call),
    message,
  )
  print(view, text)
}

export default {
  noun: 'approval',
  verbs: defineVerbs({
    ...listVerbs,
    ...inboxVerbs,
    approve: {
      usage:
        'isola approval approve <session> <call> [--hash <hash>]\n       isola approval approve <id> [options of allow]',
      about:
        'Lets the call run with exactly the arguments that are shown. On the record with who did it.',
      options: approveOptions,
      run: approve,
    },
    deny: {
      usage:
        'isola approval deny <id>… [--message <text>]\n       isola approval deny <session> <call> [--message <text>]',
      about:
        'The call does not run; its model reads why. A run at its limit ends with what it has.',
      options: { message: { type: 'string', value: 'text', about: 'told to the model' } },
      run: deny,
    },
  }),
}
