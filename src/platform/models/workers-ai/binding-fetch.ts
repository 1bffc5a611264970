import { headOf } from '#contracts/cut.ts'
import type { Carrier } from '#contracts/outbound.ts'

/** The part of the `AI` binding that is used: a raw response, so that status and stream are read as everywhere. */
export interface WorkersAi {
  readonly run: (
    model: string,
    inputs: Record<string, unknown>,
    options: { readonly returnRawResponse: true; readonly signal?: AbortSignal },
  ) => Promise<Response>
}

const maxErrorChars = 64_000
/** The day's free allocation is used up: waiting does not help. */
const accountLimited = 3036

/** Takes a chat completions request to the binding instead of to a server. */
export function createBindingFetch(ai: WorkersAi): Carrier {
  return async (_url, init) => {
    // Ours, from `toBody`.
    const { model, ...inputs } = JSON.parse(String(init.body)) as RequestBody
    const response = await ai.run(
      model,
      { ...inputs, messages: inputs.messages.map(withText) },
      { returnRawResponse: true, ...(init.signal && { signal: init.signal }) },
    )
    return response.ok ? response : toOpenAiError(response)
  }
}

interface RequestBody {
  readonly model: string
  readonly messages: readonly { readonly content?: unknown }[]
}

/** Older models refuse a message without text beside its tool calls. */
const withText = (message: RequestBody['messages'][number]) => ({
  ...message,
  content: message.content ?? '',
})

/** The error in the form that the package reads; the service's own text stays for operators. */
async function toOpenAiError(response: Response): Promise<Response> {
  const text = headOf(await response.text(), maxErrorChars)
  const { code, message } = errorIn(text)
  const error = {
    message: typeof message === 'string' ? message : text,
    code: code === accountLimited ? 'insufficient_quota' : null,
  }
  return Response.json({ error }, { status: response.status, headers: waitOf(response.headers) })
}

const waitOf = (headers: Headers): [string, string][] =>
  [...headers].filter(([name]) => ['retry-after', 'retry-after-ms', 'date'].includes(name))

/** `{ internalCode, description }` or `{ errors: [{ code, message }] }`. */
function errorIn(text: string): { readonly code?: unknown; readonly message?: unknown } {
  try {
    const body: unknown = JSON.parse(text)
    if (!isRecord(body)) return {}
    if (body.internalCode !== undefined)
      return { code: body.internalCode, message: body.description }
    const first: unknown = Array.isArray(body.errors) ? body.errors[0] : undefined
    return isRecord(first) ? { code: first.code, message: first.message } : {}
  } catch {
    return {}
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
