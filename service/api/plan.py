"""`GET|POST /v1/plan`: the hardware for a model, or the models for an accelerator."""

from flask import Blueprint, Response, request

from service.api.answers import json_answer
from service.api.documents.plan import plan_document
from service.api.planning import Planned, asked_plan
from service.api.scenarios import speaker_of
from service.catalog import Catalog
from service.core.planning.plan import Plan, plan_hardware, plan_models
from service.core.planning.question import Facts
from service.render.speed_of import speed_or_reasons_by


def blueprint(catalog: Catalog) -> Blueprint:
    """The resource over a catalog."""
    resource = Blueprint("plan", __name__)
    facts = Facts(catalog.costs, speed_or_reasons_by(catalog))

    @resource.route("/v1/plan", methods=["GET", "POST"])
    def plan() -> Response:
        asked = asked_plan(request, catalog)
        speaker = speaker_of(asked.given, catalog)
        return json_answer(plan_document(asked, _plan(asked, catalog, facts), catalog, speaker))

    return resource


def _plan(asked: Planned, catalog: Catalog, facts: Facts) -> Plan:
    if asked.model is None:
        return plan_models(asked.gpus[0], catalog.models.values(), asked.question, facts)
    return plan_hardware(asked.model, asked.gpus, asked.question, facts)
