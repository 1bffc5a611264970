/** A client closed a streamed `/v1` answer before its end. */
export interface GoneClient {
  readonly session: string
  readonly run: string
  readonly principal: string
  readonly reader: string
}
