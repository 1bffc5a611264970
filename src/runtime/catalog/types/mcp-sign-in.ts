/** `open`: the principal has to open this page. */
export type McpLogin =
  | { readonly state: 'signed_in' }
  | { readonly state: 'open'; readonly url: string }

/** `locked`: no present key opens it. */
export interface McpResealed {
  readonly rotated: number
  readonly current: number
  readonly locked: number
}

/** A principal with a sign-in of its own. `ref` stands for it in the state that passes through a browser. */
export interface McpSigner {
  readonly principal: string
  readonly ref: string
}

/** The result of a principal's sign-in in the browser. The principal finishes it with the code. */
export type McpCameBack =
  | { readonly state: 'code'; readonly code: string }
  | { readonly state: 'denied' | 'failed' }
