import type { OutsideAddress } from './network-rule.ts'

/**
 * Where a call goes that can reach no other place than those an operator named: the hosts of its plugin's grants, or a
 * server that was registered.
 */
export interface NamedPlace {
  /**
   * The source of its results in labels (`crm__*`). Absent where there are several sources, or where results may
   * repeat the input.
   */
  readonly home?: string
  /** Of a server: another server may be registered under its name. */
  readonly origin?: string
}

/** Where a call goes: to the address in its input, or where it always goes. */
export type Destination = OutsideAddress | NamedPlace
