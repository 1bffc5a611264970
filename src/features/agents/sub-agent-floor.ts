import { defined } from '#contracts/defined.ts'
import { toNanoUsd } from '#runtime/catalog/types/permit.ts'
import type { StreamItem } from '#contracts/event.ts'
import type { FloorTerms, FloorTicket } from '#contracts/floor.ts'
import { handoffSchema } from '#contracts/manifest/handoff.ts'
import type { AgentManifest } from '#runtime/catalog/types/permit.ts'
import type { Reply } from '#contracts/reply.ts'
import type { RunOutcome } from '#runtime/session/types/run-view.ts'
import type { Submitted } from '#runtime/session/types/submit-as.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** The session of a call to an agent: a new one or, while the agent has the conversation, the one of its last call. */
interface AgentFloor {
  readonly session: string
  readonly holds?: FloorTerms
  readonly ticket?: FloorTicket
}

/** @param own The session of this call. */
export function floorOf(
  { integration_mode: mode, handoff }: AgentManifest,
  own: string,
  { options, parent }: ToolContext,
): AgentFloor {
  // A call from the code of another tool answers that code: it cannot take the conversation.
  if (mode !== 'handoff' || parent !== undefined) return { session: own }
  const ticket = options.directCall?.floor
  if (!ticket && !options.mayHandOff) return { session: own }
  const session = String(ticket?.memo?.['session'] ?? own)
  return { session, holds: toTerms(handoff, session), ...defined({ ticket }) }
}

function toTerms(handoff: AgentManifest['handoff'], session: string): FloorTerms {
  const terms = handoff ?? handoffSchema.parse({})
  return {
    maxMessages: terms.max_messages,
    maxTokens: terms.max_tokens,
    maxCostNanoUsd: toNanoUsd(terms.max_cost_usd),
    timeoutMs: terms.timeout_ms,
    monitor: terms.monitor,
    input: 'task',
    memo: { session },
  }
}

/** Waits for the outcome; meanwhile passes the agent's text on, if a client streams it. */
export async function runAloud(
  child: Submitted,
  say: ToolContext['say'],
): Promise<Reply<RunOutcome>> {
  if (!say) return child.run()
  const started = await child.runStream()
  if (!started.ok) return started
  await readPieces(started.value.stream, (item) => {
    if (item.type !== 'message_delta') return
    const { turn, offset, text } = item
    say({ turn, offset, text })
  })
  // The same key joins the run, which has mostly ended by now.
  return child.run()
}

/** A stream that breaks off is no fault: the whole text is in the outcome. */
async function readPieces(
  stream: ReadableStream<Uint8Array>,
  onItem: (item: StreamItem) => void,
): Promise<void> {
  let rest = ''
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      const lines = (rest + step.value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line !== '') onItem(JSON.parse(line) as StreamItem)
    }
  } catch {
    await reader.cancel().catch(() => undefined)
  }
}
