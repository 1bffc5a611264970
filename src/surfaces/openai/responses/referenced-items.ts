import { joinLabels } from '#contracts/label.ts'
import type { OpenaiDeps } from '../deps.ts'
import type { Said } from '../history.ts'
import { foldResponse } from '../run-response.ts'
import { type RunPlace, toCallId, toFunctionCallId, toMessageId } from '../wire-ids.ts'
import type { ResolveItem } from './input-items.ts'

const maxRuns = 32

/** Reads the runs that items are referred to in: a client may name what we keep instead of sending it. */
export async function resolveItems(
  deps: OpenaiDeps,
  principal: string,
  places: readonly RunPlace[],
): Promise<ResolveItem> {
  const items = new Map<string, Said>()
  await Promise.all(
    places.slice(0, maxRuns).map(async (place) => {
      for (const [id, said] of await itemsOf(deps, principal, place)) items.set(id, said)
    }),
  )
  return (id) => items.get(id)
}

/** All of a run's items, whatever response they were a part of. */
async function itemsOf(
  deps: OpenaiDeps,
  principal: string,
  place: RunPlace,
): Promise<readonly (readonly [string, Said])[]> {
  const log = await deps.entry.readLog(principal, place)
  const found: (readonly [string, Said])[] = []
  // The label of everything that was read for it; least trusted while the run is not over.
  const ended = log.find((one) => one.type === 'run_finished' && one.run === place.run)
  const label = joinLabels([ended?.type === 'run_finished' ? ended.data.result?.label : undefined])
  for (let turn: number | undefined = 0; turn !== undefined;) {
    const { changes } = foldResponse(log, { ...place, turn })
    turn = undefined
    for (const change of changes) {
      if (change.type === 'message') {
        const id = toMessageId(place, change.turn)
        const said = { kind: 'assistant', text: change.text, label, at: 'input' } as const
        found.push([id, said])
      }
      if (change.type === 'calls') {
        for (const { call, tool, input } of change.calls) {
          const callId = toCallId(place, call)
          const said = {
            kind: 'call',
            callId,
            name: tool,
            arguments: JSON.stringify(input),
          } as const
          found.push([toFunctionCallId(place, call), { ...said, at: 'input' }])
        }
        turn = change.turn
      }
    }
  }
  return found
}
