/** `open`: the principal has to open this page. */
export type McpLogin =
  | { readonly state: 'signed_in' }
  | { readonly state: 'open'; readonly url: string }

/** `locked`: no key opens it any more. */
export interface McpResealed {
  readonly rotated: number
  readonly current: number
  readonly locked: number
}

/** Who signs in for itself. `ref` stands for it in the state that goes through a browser. */
export interface McpSigner {
  readonly principal: string
  readonly ref: string
}

/** What a browser came back with to a sign-in of a principal: with the code it is finished, by that principal. */
export type McpCameBack =
  | { readonly state: 'code'; readonly code: string }
  | { readonly state: 'denied' | 'failed' }
