import { outOfTime } from './approval.ts'
import { failure, type GatedCall, type Gate, type TurnScope } from './call.ts'
import { gates } from './gates.ts'

const onceOnly = new Set(['rate', 'beforeToolCall'])

/**
 * Takes one call through every gate. Contract: never throws, and leaves exactly one `result`, or a `pause`.
 *
 * A denial skips the gates up to the end; the gates that always run (settle, event) still run.
 */
export async function passGates(
  call: GatedCall,
  scope: TurnScope,
  order: readonly Gate[] = gates,
): Promise<void> {
  let mayRecheck = true
  for (let index = 0; index < order.length; index += 1) {
    const gate = order[index]!
    if (call.pause) return // the next segment takes the call through the rest
    if (gate.when === 'before' && call.result) continue
    if (gate.when === 'after' && !call.hasRun) continue
    // An input that a hook changed is checked again, without the hooks, and the call counts once.
    if (!mayRecheck && onceOnly.has(gate.name)) continue
    let verdict = await verdictOf(gate, call, scope)
    if (!verdict) continue
    // A check that the end of the run's time broke off denies too: it is repeated if the time may be raised.
    if ('deny' in verdict && scope.mayAsk && !call.hasRun && scope.timeLeftMs() <= 0)
      verdict = outOfTime(call, scope)
    if ('deny' in verdict) call.result = verdict.deny
    else if ('pause' in verdict) call.pause = verdict.pause
    else if (mayRecheck) {
      mayRecheck = false
      index = order.findIndex(({ name }) => name === 'input') - 1
    }
  }
}

/** A gate that throws denies: guards fail closed, also after the tool, where they hold its result back. */
async function verdictOf(gate: Gate, call: GatedCall, scope: TurnScope) {
  try {
    return await gate.pass(call, scope, passGates)
  } catch {
    if (gate.when === 'always' && call.result) return undefined
    const text = `The call could not pass "${gate.name}".`
    return { deny: gate.broken ?? failure('tool_failed', text) }
  }
}
