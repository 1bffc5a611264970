import type { CompactionOutcome } from './types/session-view.ts'
import type { ReadContext, ContextView } from '#runtime/kernel/types/context.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { SubmitRequest } from './types/submission.ts'
import { loadAgent } from './runs/run.ts'
import { refuseAtWork, unknownAgent } from './storage/refusals.ts'
import type { SessionAccess } from './session-parts.ts'
import { runBefore, runToCome } from './storage/store.ts'
import type { RunRow } from './storage/stored-rows.ts'
import type { Submissions } from './submissions.ts'

type Options = RunOptions & Pick<SubmitRequest, 'keyPersona'>

/** Shows and compacts the context that a model would be sent next. */
export function createContexts(access: SessionAccess, { run }: Submissions) {
  const { runtime, current, own } = access
  const lastRun = () => {
    const { store } = current.parts
    return runBefore(store, store.lastOrder() + 1)
  }

  /** The context of a run with these options. */
  async function read(agent: string, options: Options): Promise<ReadContext> {
    const { session } = current.parts.store
    const row = session()
    const asked = { ...options, agent, principal: row?.principal ?? '' }
    const ready = await loadAgent(asked, runtime, { session: row })
    if (!ready) throw unknownAgent(agent)
    const { transcript, store } = current.parts
    const { added } = lastRun() ?? {}
    const { isLeftOver } = transcript
    const said = transcript.before(runToCome(store))
    return { agent: ready, ...said, isLeftOver, ...defined({ added }) }
  }

  return {
    async view(principal: string): Promise<ContextView> {
      const { agent } = own(principal)
      if (agent === undefined) {
        const message =
          'Nobody has said anything here yet: the first response says which agent it is.'
        throw new IsolaError('request_conflict', message)
      }
      return runtime.context.view(await read(agent, optionsOf(lastRun())))
    },
    async compact(session: string, request: SubmitRequest): Promise<CompactionOutcome> {
      let asked = request
      if (request.compact === 'session') {
        const { agent } = own(request.principal)
        asked = { ...optionsOf(lastRun()), ...request }
        refuseAtWork(current.parts)
        const isInherited = asked.model !== request.model
        if (isInherited && agent !== undefined) await refuseTaken({ ...asked, agent })
        const isWorthwhile =
          agent !== undefined && (await runtime.context.isWorthwhile(await read(agent, asked)))
        if (!isWorthwhile) throw nothingToCompact()
      }
      const result = await run(session, asked)
      // A compaction makes no call, so it has no pause.
      if (result.state === 'parked') throw new Error('A run that only compacts was parked.')
      return outcomeOf(result, access.row(result.id))
    },
  }

  /** The caller may have lost the model of the last run meanwhile; an operator asks without a key. */
  async function refuseTaken(asked: SubmitRequest & { readonly agent: string }): Promise<void> {
    const isOwner = asked.key !== undefined || asked.grant !== undefined
    if (!isOwner || (await runtime.mayBegin(asked))) return
    const message = `The last run asked "${asked.model}", which you may not name any more: name another one.`
    throw new IsolaError('request_forbidden', message, { param: 'model' })
  }

  function outcomeOf(result: CompactionOutcome['result'], row: RunRow): CompactionOutcome {
    const { store } = current.parts
    const { createdAtMs, order, submission } = row
    const made = store.turns(order).flatMap(({ compactions = [] }) => compactions)
    const report = made.at(-1)?.report
    const { messages } = submission
    return {
      result,
      createdAtMs,
      ...defined({ report }),
      ...(submission.compact === 'client' && {
        messages: runtime.context.shown({ messages, compactions: made }),
      }),
    }
  }
}

/** The options for a next run that uses the last run's options. */
function optionsOf(row: RunRow | undefined): Options {
  const { model, parameters, clientInstructions, clientTools, keyPersona } = row?.submission ?? {}
  return defined({ keyPersona, model, parameters, clientInstructions, clientTools })
}

const nothingToCompact = () =>
  new IsolaError(
    'request_conflict',
    'There is nothing to compact: all that was said is needed, or too little to be worth it.',
  )
