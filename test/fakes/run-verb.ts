import { createAsk, type Context, type Verb } from '../../cli/command.ts'
import { sentOf } from '../../cli/options.ts'

/** Runs a verb in a context of a test, with what the frame adds to each. */
export function runVerb(verb: Verb, context: object) {
  const given = { args: [], values: {}, ...context } as unknown as Context<Record<string, unknown>>
  const { args, values, request } = given
  const added = { ask: createAsk(request, args), sent: () => sentOf(verb.options ?? {}, values) }
  return verb.run({ ...given, ...added } as never)
}
