/** The question about a waiting call, as it is put to a person. */
export declare function questionOf(pause: {
  readonly kind: string
  readonly tool: string
  readonly input: object
  readonly about?: string
}): { readonly text: string; readonly prompt: string }
