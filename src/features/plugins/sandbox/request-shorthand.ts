import type { PluginRequest } from '#features/plugins/types/plugin.ts'

type AskAll = (asked: Readonly<Record<string, object>>) => Promise<unknown>

/** Asks single questions through `all`. Without a `key` a question is named by its number within the call. */
export function createRequest(all: AskAll): PluginRequest {
  let count = 0
  const one = async (kind: string, { key, ...asked }: { readonly key?: string }) => {
    count += 1
    const name = key ?? `${kind}_${count}`
    const answers = await all({ [name]: { kind, ...asked } })
    return (Object(answers) as Record<string, unknown>)[name]
  }
  const request: Record<keyof PluginRequest, (asked: object) => Promise<unknown>> = {
    elicit: (asked) => one('elicit', asked),
    sample: (asked) => one('sample', asked),
    roots: (asked) => one('roots', { ...asked }),
    all: (asked) => all(asked as Readonly<Record<string, object>>),
  }
  return request as unknown as PluginRequest
}
