"""What is said of plans: why an option has its place, why others were left out, and names of the picks."""

from collections.abc import Mapping

from service.i18n.marking import mark

PLAN_CODES: Mapping[str, str] = {
    "plan_cheapest_rent": mark(
        "The lowest dependable rent of all options with four or more bits: %(usd_per_hour)s per hour."
    ),
    "plan_cheapest_purchase": mark(
        "The lowest known purchase price of all options with four or more bits: %(usd)s."
    ),
    "plan_cheapest_purchase_used": mark(
        "The lowest known purchase price of all options with four or more bits: %(usd)s, used."
    ),
    "plan_fastest": mark("The fastest option: about %(rate)s tokens per second in one sequence."),
    "plan_as_published": mark("The weights stay as they were published."),
    "plan_few_bits": mark(
        "Formats with fewer than four bits (here %(bits)s) rank after all others, "
        "because they change the answers most."
    ),
    "plan_last_without_speed": mark("Without a speed estimate it ranks after all options that have one."),
    "plan_beaten": mark(
        "%(gpu_count)s × %(gpu)s with %(format)s is at least as good in price, speed and format."
    ),
    "plan_unbeaten": mark("No other option is known to be at least as good in price, speed and format."),
    "plan_ahead_speed_known": mark("It is ahead of place %(place)s because its speed is known."),
    "plan_ahead_format": mark("It is ahead of place %(place)s because its format has four or more bits."),
    "plan_ahead_unbeaten": mark(
        "It is ahead of place %(place)s, which another option beats in every respect."
    ),
    "plan_ahead_price_known": mark("It is ahead of place %(place)s because its price is known better."),
    "plan_ahead_price": mark("It is ahead of place %(place)s because it is cheaper."),
    "plan_ahead_speed": mark("It is ahead of place %(place)s because it is faster."),
    "plan_ahead_count": mark("It is ahead of place %(place)s because it takes fewer GPUs."),
    "plan_ahead_size": mark("It is ahead of place %(place)s because the model has more parameters."),
    "plan_ahead_name": mark("It equals place %(place)s in all of this; the order is that of the names."),
    "plan_weights_too_large": mark(
        "With %(format)s the weights alone take at least %(least_bytes)s, "
        "too much for %(gpu_count)s × %(gpu)s together with cache and buffers."
    ),
    "plan_parameters_refused": mark("%(engine)s on %(gpu)s does not take these parameters: %(fields)s."),
    "plan_too_dear": mark(
        "It costs %(usd_per_hour)s per hour, more than the %(most_usd)s that were allowed."
    ),
    "plan_too_slow": mark(
        "One sequence decodes about %(rate)s tokens per second, fewer than the %(least)s that were demanded."
    ),
    "plan_first_token_late": mark(
        "The first token comes after about %(milliseconds)s ms, later than the %(most)s ms that were allowed."
    ),
    "plan_purchase_price_old": mark(
        "The purchase price dates from %(period)s; it may have changed since and is not compared."
    ),
    "plan_value_indicative": mark(
        "No option with a current price has a speed that benchmarks of its class support; "
        "this value rests on an indicative speed."
    ),
    "plan_speed_unknown": mark("Its speed is not known, so it cannot be held to a demand on speed."),
    "plan_first_token_unknown": mark(
        "The time to its first token is not known, so it cannot be held to a limit."
    ),
}
PICKS: Mapping[str, str] = {
    "best_single_gpu": mark("Best single GPU"),
    "best_value": mark("Best value, new"),
    "best_value_used": mark("Best value, used"),
    "unified_memory": mark("Apple and other unified memory"),
    "cloud": mark("Cloud from"),
    "smallest_consumer": mark("Fewest consumer GPUs"),
    "smallest_workstation": mark("Fewest workstation GPUs"),
    "smallest_datacenter": mark("Fewest data center GPUs"),
    "smallest_unified": mark("Smallest machine with unified memory"),
}
