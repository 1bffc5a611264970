import { IsolaError } from '#contracts/errors.ts'
import type { LayoutDeps } from './layout.ts'
import { perRequest } from './sizes.ts'

/** Fails because nothing more can be left out. The message names the limit and the sizes. */
export function tooLarge({ input, count, sizes, pins, steps }: LayoutDeps): IsolaError {
  const { messages, model, tools } = input
  const stays = steps.filter((step) => pins.of.get(step) === 'always')
  const all = stays.flatMap(({ from, to }) => messages.slice(from, to))
  const said = all.filter(({ role }) => role !== 'system')
  const rules = all.filter(({ role }) => role === 'system')
  const fixed =
    perRequest +
    count.ofTools(tools) +
    rules.reduce((sum, message) => sum + count.ofMessage(message), 0)
  const limit = Math.max(0, sizes.window - fixed)
  const largest = Math.max(0, ...said.map((message) => count.ofMessage(message)))
  if (fixed >= sizes.window)
    return new IsolaError(
      'model_not_capable',
      `The instructions and tools of this agent have about ${fixed} tokens; ${model.name} takes at most ${sizes.window} as input.`,
    )
  if (largest <= limit)
    return new IsolaError(
      'request_too_large',
      `What came in since the last answer has more than the ${limit} tokens that ${model.name} takes with this agent's instructions and tools.`,
    )
  return new IsolaError(
    'request_too_large',
    `The message has about ${largest} tokens; with this agent's instructions and tools ${model.name} takes at most ${limit} in one message.`,
  )
}
