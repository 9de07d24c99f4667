"""What is to be said of prices and of a fine-tuning: the sentence of each code."""

from collections.abc import Mapping

from service.i18n.marking import mark

COST_CODES: Mapping[str, str] = {
    "price_undated": mark("The price is undated; it was seen about %(period)s."),
    "price_stale": mark(
        "The price was %(days)s days old when the catalog was compiled and may have changed since."
    ),
    "price_low_confidence": mark("The source of the price is not dependable."),
    "price_by_operator": mark("The operator of this service provided the price."),
    "price_spot": mark("This is a spot price: the hardware can be withdrawn at any time."),
    "price_reserved": mark("The price holds only for a long-term reservation."),
    "several_machines": mark(
        "This takes %(machines)s machines; the network between them is not part of the price."
    ),
    "no_offer_known": mark("No rental offer is known for %(gpu_count)s × %(gpu)s."),
    "no_speed_no_token_price": mark("Without a speed estimate there is no price per token."),
    "power_unknown": mark("The power draw of %(gpu)s is not known, so neither is its electricity cost."),
    "price_unknown": mark("No purchase price is known for %(gpu)s; a hardware budget can stand in for it."),
    "street_price_used": mark("The street price is that of used GPUs."),
    "no_layout_on_gpus": mark("The model cannot be split evenly across %(gpu_count)s × %(gpu)s."),
    "exceeds_one_machine": mark("One machine has at most %(gpu_count)s × %(gpu)s, which is not enough."),
    "gpu_not_in_catalog": mark("%(gpu)s is not in the catalog, so it cannot be sized."),
}
FINETUNING_CODES: Mapping[str, str] = {
    "training_exceeds_memory": mark(
        "Each GPU needs %(needed)s, where %(usable)s is available; %(missing)s is missing."
    ),
    "training_software_unknown": mark(
        "The usual training software is not released for %(gpu)s; the vendor’s own port may differ."
    ),
    "experts_stay_16_bit": mark(
        "bitsandbytes quantizes only ordinary linear layers; the stacked experts stay at 16 bits, "
        "so QLoRA saves little here."
    ),
    "experts_not_adapted": mark("The adapters leave the routed experts out; the target “experts” adds them."),
}
