export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly what: string
  readonly fix?: string
  readonly repair?: (() => unknown) | undefined
}

type Make = (check: string, what: string, more?: Pick<Finding, 'fix' | 'repair'>) => Finding
export declare const ok: Make
export declare const warn: Make
export declare const fail: Make
