export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly what: string
  readonly fix?: string
  readonly repair?: () => unknown
}
