/** The fields of an error reply, by their names on the wire. */
interface Said {
  readonly type?: string
  readonly code?: string
  readonly message?: string
  readonly param?: string | null
  readonly request_id?: string
}

/** Codes of failures without a server's error: no answer, no answer in time, or an answer that broke off. */
export type ClientErrorCode = 'no_answer' | 'no_answer_in_time' | 'answer_broken'

/**
 * Every failure of a request: the server's refusal, or no answer. Match on `code`; docs/api.md lists the server's
 * codes.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The status of the reply; 0 without a reply. */
  readonly status: number
  /** The kind, by status, as OpenAI's clients know it; `no_reply` where none came. */
  readonly type: string
  readonly code: string
  /** The field that it is about. */
  readonly param: string | undefined
  /** The id to quote to the operator of the deployment. */
  readonly requestId: string | undefined

  constructor(status: number, said: Said, options?: ErrorOptions) {
    super(said.message ?? `The server answered ${status}.`, options)
    this.status = status
    this.type = said.type ?? 'unknown'
    this.code = said.code ?? 'unknown'
    this.param = said.param ?? undefined
    this.requestId = said.request_id
  }
}

/** A failure without an answer. */
export const noReply = (code: ClientErrorCode, message: string, cause?: unknown): ApiError =>
  new ApiError(0, { type: 'no_reply', code, message }, { cause })

/** The fields of an error's body; empty for a body of another kind. */
export function toSaid(text: string): Said {
  try {
    return Object(Object(JSON.parse(text)).error)
  } catch {
    return {}
  }
}

/** Whether the same request may meet with something else in a moment: no answer, too much, or a fault of the server. */
export const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500
