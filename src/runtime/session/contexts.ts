import type { CompactionOutcome } from './types/compaction-outcome.ts'
import type { ReadContext } from '#runtime/kernel/types/context-reader.ts'
import type { ContextView } from '#runtime/kernel/types/context-view.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { SubmitRequest } from './types/submission.ts'
import { loadAgent } from './runs/load-agent.ts'
import { refuseAtWork, unknownAgent } from './runs/refusals.ts'
import type { Scope } from './scope.ts'
import { runBefore, runToCome } from './storage/run-order.ts'
import type { RunRow } from './storage/stored-rows.ts'
import type { Submissions } from './submissions.ts'

type Options = RunOptions & Pick<SubmitRequest, 'keyPersona'>

/** What a model would be sent next: looked at, and made less. */
export interface Contexts {
  readonly view: (principal: string) => Promise<ContextView>
  readonly compact: (session: string, request: SubmitRequest) => Promise<CompactionOutcome>
}

export function createContexts(scope: Scope, { run }: Pick<Submissions, 'run'>): Contexts {
  const { runtime, parts, own } = scope
  const lastRun = () => {
    const { store } = parts()
    return runBefore(store, store.lastOrder() + 1)
  }

  /** The session as a run with these options would find it. */
  async function read(agent: string, options: Options): Promise<ReadContext> {
    const { session } = parts().store
    const row = session()
    const asked = { ...options, agent, principal: row?.principal ?? '' }
    const ready = await loadAgent(asked, runtime, { session: row })
    if (!ready) throw unknownAgent(agent)
    const { transcript, store } = parts()
    const { added } = lastRun() ?? {}
    const { isLeftOver } = transcript
    const said = transcript.before(runToCome(store))
    return { agent: ready, ...said, isLeftOver, ...(added && { added }) }
  }

  return {
    async view(principal) {
      const { agent } = own(principal)
      if (agent === undefined) {
        const message =
          'Nobody has said anything here yet: the first response says which agent it is.'
        throw new IsolaError('request_conflict', message)
      }
      return runtime.context.view(await read(agent, optionsOf(lastRun())))
    },
    async compact(session, request) {
      let asked = request
      if (request.compact === 'session') {
        const { agent } = own(request.principal)
        asked = { ...optionsOf(lastRun()), ...request }
        refuseAtWork(parts())
        const isInherited = asked.model !== request.model
        if (isInherited && agent !== undefined) await refuseTaken({ ...asked, agent })
        const isWorthwhile =
          agent !== undefined && (await runtime.context.isWorthwhile(await read(agent, asked)))
        if (!isWorthwhile) throw nothingToCompact()
      }
      const result = await run(session, asked)
      // It makes no call, so it waits for nobody.
      if (result.state === 'parked') throw new Error('A run that only compacts was parked.')
      return outcomeOf(result, scope.row(result.id))
    },
  }

  /** The model of the last run may have been taken since from whoever asks; an operator asks with no right of theirs. */
  async function refuseTaken(asked: SubmitRequest & { readonly agent: string }): Promise<void> {
    const isOwner = asked.key !== undefined || asked.grant !== undefined
    if (!isOwner || (await runtime.mayBegin(asked))) return
    const message = `The last run asked "${asked.model}", which you may not name any more: name another one.`
    throw new IsolaError('request_forbidden', message, { param: 'model' })
  }

  function outcomeOf(result: CompactionOutcome['result'], row: RunRow): CompactionOutcome {
    const { store } = parts()
    const { createdAtMs, order, submission } = row
    const made = store.turns(order).flatMap(({ compactions = [] }) => compactions)
    const report = made.at(-1)?.report
    const { messages } = submission
    return {
      result,
      createdAtMs,
      ...(report && { report }),
      ...(submission.compact === 'client' && {
        messages: runtime.context.shown({ messages, compactions: made }),
      }),
    }
  }
}

/** What the next request will ask for, if it asks as the last one did. */
function optionsOf(row: RunRow | undefined): Options {
  const { model, parameters, clientInstructions, clientTools, keyPersona } = row?.submission ?? {}
  return {
    ...(keyPersona !== undefined && { keyPersona }),
    ...(model !== undefined && { model }),
    ...(parameters && { parameters }),
    ...(clientInstructions !== undefined && { clientInstructions }),
    ...(clientTools && { clientTools }),
  }
}

const nothingToCompact = () =>
  new IsolaError(
    'request_conflict',
    'There is nothing to compact: all that was said is needed, or too little to be worth it.',
  )
